"""The kind `score`: submissions scored in hosts."""
