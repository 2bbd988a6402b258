#!/bin/sh
mkdir -p /grade/results
cp /grade/student/user_code.py /grade/tests/user_code.py
cd /grade/tests && python3 grade.py
