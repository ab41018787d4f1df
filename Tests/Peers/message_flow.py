"""Message Flow's client and server as its document describes them, with http.client and websockets.

usage: message_flow.py poll HOST:PORT TOKEN             prints the answer to a poll
       message_flow.py empty HOST:PORT TOKEN            polls until nothing is left
       message_flow.py ack HOST:PORT TOKEN FILE         posts each line of FILE as an acknowledgement, prints the answers
       message_flow.py send HOST:PORT FILE              posts each line of FILE as a message, prints the answers
       message_flow.py socket HOST:PORT TOKEN COUNT STATUS [FILE]
           prints COUNT pushes and acknowledges each, after it has sent the lines of FILE; with the status "crash" it
           kills itself before it acknowledges
       message_flow.py refused HOST:PORT                checks that a wrong token opens nothing
       message_flow.py hostile HOST:PORT TOKEN          sends what is no record
       message_flow.py serve FILE KIND COMMAND...       serves the messages in FILE, one a line, over KIND (http or ws) to
           the command, which finds the address in $RELAY; prints what the command asks for
"""

import base64
import http.client
import http.server
import json
import os
import signal
import subprocess
import sys
import threading

import websockets
import websockets.exceptions
import websockets.sync.client
import websockets.sync.server

BASE = "/message-flow"
MEMBERS = ["id", "from", "to", "encryptedPayload", "timestamp"]
PAYLOAD = ["ciphertext", "ratchetPublicKey", "chainLength", "previousChainLength"]


def check(message):
    """Checks the members of a message, in the document's order. A first message has a preKey too."""
    assert [m for m in message if m != "preKey"] == MEMBERS, message
    payload = message["encryptedPayload"]
    assert list(payload) == PAYLOAD, payload
    assert isinstance(payload["ciphertext"], str) and isinstance(payload["ratchetPublicKey"], str)
    assert isinstance(payload["chainLength"], int) and isinstance(payload["previousChainLength"], int)


def ask(address, method, path, body=None, token=None):
    connection = http.client.HTTPConnection(address, timeout=20)
    headers = {"Content-Type": "application/json"} if body else {}
    if token:
        headers["Authorization"] = "Bearer " + token
    connection.request(method, BASE + path, body, headers)
    answer = connection.getresponse()
    assert answer.headers["content-type"] == "application/json"
    return answer.status, answer.read().decode()


def poll(address, token):
    status, body = ask(address, "GET", "/api/messages/poll", token=token)
    assert status == 200, (status, body)
    answer = json.loads(body)
    assert list(answer) == ["success", "messages"] and answer["success"] is True, body
    assert len(answer["messages"]) <= 100
    for message in answer["messages"]:
        check(message)
    return body


def empty(address, token):
    # The acknowledgement of a push has no answer, so the relay may still write it.
    for _ in range(500):
        if not json.loads(poll(address, token))["messages"]:
            return
    sys.exit("the mailbox does not become empty")


def post(address, path, file, token=None):
    for line in open(file):
        status, body = ask(address, "POST", path, line.strip(), token)
        sys.stdout.write(f"{status} {body}")


def connect(address, token=None):
    headers = {"Authorization": "Bearer " + token} if token else {}
    return websockets.sync.client.connect(
        f"ws://{address}{BASE}", additional_headers=headers, max_size=None, open_timeout=20)


def socket(address, token, count, status, file=None):
    with connect(address, token) as stream:
        for line in open(file) if file else []:
            stream.send(line.strip())
        left = int(count)
        while left > 0:
            text = stream.recv(timeout=20)
            push = json.loads(text)
            if push["type"] == "stored":
                print("stored", push["request_id"], flush=True)
                continue
            left -= 1
            assert list(push) == ["type", "message"] and push["type"] == "new_message", text
            check(push["message"])
            print(text.strip(), flush=True)
            if status == "crash":
                os.kill(os.getpid(), signal.SIGKILL)
            ack = {"type": "ack", "messageId": push["message"]["id"], "status": status}
            stream.send(json.dumps(ack, separators=(",", ":")))
        # The relay takes the acknowledgements before this.
        stream.send('{"type":"ping","request_id":"end"}')
        assert json.loads(stream.recv(timeout=20))["type"] == "pong"


def refused(address):
    for token in ["wrong", base64.urlsafe_b64encode(bytes(112)).decode().rstrip("=")]:
        try:
            with connect(address, token):
                raise AssertionError("a wrong token opens a socket")
        except websockets.exceptions.InvalidStatus as error:
            assert error.response.status_code == 401, error
            assert json.loads(error.response.body)["success"] is False
        status, body = ask(address, "GET", "/api/messages/poll", token=token)
        assert status == 401 and json.loads(body)["reason"] == "login_failed", body
    ack = json.dumps({"messageId": "11111111-1111-4111-8111-111111111111", "status": "delivered"})
    for method, path, body in [("GET", "/api/messages/poll", None), ("POST", "/api/messages/ack", ack)]:
        status, answer = ask(address, method, path, body)
        assert status == 401 and json.loads(answer)["reason"] == "login_required", answer
    with connect(address) as stream:
        stream.send(json.dumps({"type": "ack", **json.loads(ack)}))
        answer = json.loads(stream.recv(timeout=20))
        assert answer["type"] == "error" and answer["payload"]["reason"] == "login_required", answer
    for method, path, expected in [
        ("GET", "", 426), ("POST", "", 405), ("GET", "/api/messages", 405), ("GET", "/api/frames", 404),
        ("DELETE", "/api/messages/poll", 405), ("GET", "/api/messages/ack", 405),
    ]:
        status, body = ask(address, method, path)
        assert status == expected and json.loads(body)["success"] is False, (method, path, status)


def answered(stream):
    """Returns the next line that is no push: what waits for the token's owner comes too."""
    while True:
        answer = json.loads(stream.recv(timeout=20))
        if answer["type"] != "new_message":
            return answer


def hostile(address, token):
    known = "11111111-1111-4111-8111-111111111111"
    bad = [
        "", "{", "[]", "7", '{"type":7}', '{"type":"ack"}', '{"type":"new_message"}',
        '{"type":"ack","messageId":"msg-123","status":"delivered"}',
        '{"type":"ack","messageId":"%s","status":"seen"}' % known,
        '{"type":"ack","messageId":"%s","messageId":"%s","status":"read"}' % (known, known),
        '{"type":"new_message","message":{"id":"%s"}}' % known,
        '{"type":"new_message","message":' + "[" * 100 + "]" * 100 + "}",
        '{"type":"new_message","message":{"a":[' + "0," * 2000 + "0]}}",
    ]
    for text in bad:
        with connect(address, token) as stream:
            stream.send(text)
            answer = answered(stream)
            assert answer["type"] in ("error", "rejected"), (text[:60], answer)
        for path in ["/api/messages", "/api/messages/ack"]:
            status, body = ask(address, "POST", path, text or " ", token)
            assert 400 <= status < 500 and json.loads(body)["success"] is False, (text[:60], body)
    with connect(address, token) as stream:
        stream.send(b"\xff\xfe")
        assert answered(stream)["payload"]["reason"] == "bad_json"
        # An unknown id is acknowledged, and nothing answers it.
        stream.send('{"type":"ack","messageId":"%s","status":"failed"}' % known)
        stream.send('{"type":"ping","request_id":"after"}')
        assert answered(stream)["request_id"] == "after"
        try:
            stream.send("x" * (4 << 20))
            answered(stream)
            raise AssertionError("a huge message is taken")
        except websockets.exceptions.ConnectionClosed as closed:
            assert closed.rcvd is None or closed.rcvd.code == 1009, closed
    status, body = ask(address, "POST", "/api/messages", '{"message":"' + "x" * 120_000 + '"}', token)
    assert status == 413, (status, body)


class Mailbox:
    """What the server of `serve` stores, and the frames about a login, which the document does not have."""

    def __init__(self, file):
        self.messages = [json.loads(line) for line in open(file)]
        self.name = ""
        self.lock = threading.Lock()

    def frame(self, frame):
        payload = {
            "challenge": lambda: {"nonce": base64.b64encode(bytes(32)).decode(), "relay": [self.name]},
            "login": lambda: {"token": "token-1"},
            "resume": lambda: {"token": "token-1"},
        }.get(frame["type"], lambda: {})()
        kind = {"challenge": "challenge", "login": "session", "resume": "session",
                "subscribe": "subscribed", "ping": "pong"}.get(frame["type"], "stored")
        return json.dumps({"type": kind, "request_id": frame["request_id"], "payload": payload})

    def acknowledge(self, text):
        print("ack", text.strip(), flush=True)
        ack = json.loads(text)
        with self.lock:
            if ack["status"] == "delivered":
                self.messages = [m for m in self.messages if m["id"] != ack["messageId"]]
        return ack["messageId"]


def serve(file, kind, *command):
    mailbox = Mailbox(file)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def answer(self, body):
            data = body.encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self):
            assert self.headers["Authorization"] == "Bearer token-1"
            print("GET", self.path, flush=True)
            with mailbox.lock:
                self.answer(json.dumps({"success": True, "messages": mailbox.messages[:100]}))

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if self.path == "/api/frames":
                return self.answer(mailbox.frame(json.loads(body)))
            print("POST", self.path, flush=True)
            if self.path == BASE + "/api/messages/ack":
                assert self.headers["Authorization"] == "Bearer token-1"
                mailbox.acknowledge(body)
            else:
                print("message", body.strip(), flush=True)
            self.answer('{"success":true}')

    def stream(socket):
        print("path", socket.request.path, flush=True)
        for text in socket:
            frame = json.loads(text)
            if frame["type"] == "ack":
                answer = {"type": "acked", "request_id": mailbox.acknowledge(text), "payload": {}}
                socket.send(json.dumps(answer))
            elif frame["type"] == "new_message":
                print("message", text.strip(), flush=True)
                answer = {"type": "stored", "request_id": frame["message"]["id"], "payload": {}}
                socket.send(json.dumps(answer))
            else:
                socket.send(mailbox.frame(frame))
            if frame["type"] == "subscribe":
                for message in mailbox.messages:
                    socket.send(json.dumps({"type": "new_message", "message": message}))
                socket.send('{"type":"empty","payload":{}}')

    if kind == "http":
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        port = server.server_address[1]
    else:
        server = websockets.sync.server.serve(stream, "127.0.0.1", 0)
        port = server.socket.getsockname()[1]
    mailbox.name = f"127.0.0.1:{port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {**os.environ, "RELAY": f"{kind}://127.0.0.1:{port}"}
    sys.exit(subprocess.run(command, env=environment).returncode)


COMMANDS = {
    "poll": lambda address, token: sys.stdout.write(poll(address, token)),
    "empty": empty,
    "ack": lambda address, token, file: post(address, "/api/messages/ack", file, token),
    "send": lambda address, file: post(address, "/api/messages", file),
    "socket": socket, "refused": refused, "hostile": hostile, "serve": serve,
}
COMMANDS[sys.argv[1]](*sys.argv[2:])
