import os
import sys

input_dir, output_dir = sys.argv[1], sys.argv[2]
with open(os.path.join(input_dir, "ref", "truth.txt")) as file:
    truth = file.read().split()
with open(os.path.join(input_dir, "res", "predictions.txt")) as file:
    predictions = file.read().split()
if len(predictions) != len(truth):
    sys.exit(f"{len(predictions)} predictions, {len(truth)} are wanted")
accuracy = sum(one == other for one, other in zip(truth, predictions)) / len(truth)
with open(os.path.join(output_dir, "scores.txt"), "w") as file:
    file.write(f"accuracy: {accuracy}\n")
