"""Sends each line of stdin as a `send` frame over WebSocket, prints the answers, then a frame that is too long.

usage: websocket_client.py URL CERTIFICATE < ENVELOPES
"""
import asyncio
import json
import ssl
import sys

import websockets


async def main(url, certificate):
    context = None
    if url.startswith("wss:"):
        context = ssl.create_default_context(cafile=certificate)
    async with websockets.connect(url, ssl=context, max_size=None) as socket:
        await socket.ping()
        # White space between tokens, line feeds too, and a message in fragments.
        await socket.send('{\n "type": "ping",\n "request_id": "p"\n}')
        assert json.loads(await socket.recv())["type"] == "pong"
        await socket.send(['{"type":', '"ping"', ',"request_id":"q"}'])
        assert json.loads(await socket.recv())["request_id"] == "q"
        await socket.send("{")
        assert json.loads(await socket.recv())["payload"]["reason"] == "bad_json"
        for number, line in enumerate(sys.stdin):
            frame = {"type": "send", "request_id": str(number), "payload": {"envelope": json.loads(line)}}
            await socket.send(json.dumps(frame))
            print(json.dumps(json.loads(await socket.recv())))
        try:
            await socket.send("x" * (4 << 20))
            await socket.recv()
        except websockets.exceptions.ConnectionClosed as closed:
            code = closed.rcvd.code if closed.rcvd else 0
            print(json.dumps({"type": f"closed {code}"}))


asyncio.run(main(sys.argv[1], sys.argv[2]))
