FROM scorehost/python:3
COPY rpn /usr/local/bin/rpn
RUN chmod 0755 /usr/local/bin/rpn
