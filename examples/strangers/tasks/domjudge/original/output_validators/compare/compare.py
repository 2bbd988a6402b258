"""compare INPUT ANSWER FEEDBACK_DIR < TEAM_OUTPUT: 42 right, 43 wrong."""

import sys

with open(sys.argv[1]) as file:
    wanted = int(file.read())
try:
    words = sys.stdin.read(1000).split()
    first, second = (int(word) for word in words)
    right = first > 0 and second > 0 and first + second == wanted
except ValueError:
    right = False
with open(sys.argv[3] + "/judgemessage.txt", "w") as file:
    file.write("" if right else "not two positive summands")
sys.exit(42 if right else 43)
