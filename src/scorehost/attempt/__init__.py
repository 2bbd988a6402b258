"""One attempt, from a submission to a bound verdict in a folder that appears whole."""
