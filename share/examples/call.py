#!/usr/bin/env python3
# call.py offer|answer WHO [TURN]: a call with a data channel and a tone. Reads records of decrypt, writes records for
# encrypt. WHO is a contact, TURN a file of recv --turn. The caller hangs up when it has heard the tone and its greeting
# came back. Needs aiortc (PyPI). Exit status: 0 the call took place; 1 the other side did not take it, or an error.
import aiortc, array, asyncio, json, subprocess, sys, time

role, who, *files = sys.argv[1:]
servers = [aiortc.RTCIceServer(t["uris"], t["username"], t["password"]) for t in map(json.load, map(open, files))]
class Tone(aiortc.mediastreams.AudioStreamTrack):
    async def recv(self):
        frame = await super().recv()
        frame.planes[0].update(array.array("h", [8000, 8000, -8000, -8000] * (frame.samples // 4)).tobytes())
        return frame

def compose(*words, sdp=""):
    record = subprocess.check_output(["sotto", "compose", "call", *words, "--to", who], input=sdp, text=True)
    print(record, end="", flush=True)
    return json.loads(record)["body"]["call"]

async def signals(connection, call):  # until the call ends
    lines = asyncio.StreamReader(limit=1 << 20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        signal = (record := json.loads(line)).get("body", {})
        if signal.get("type") != "call" or who not in (record.get("name"), record.get("from")): continue
        if role == "answer" and record.get("ringing") and not call:
            call = signal["call"]
            await connection.setRemoteDescription(aiortc.RTCSessionDescription(signal["sdp"], "offer"))
            await connection.setLocalDescription(await connection.createAnswer())
            compose("answer", "--id", call, sdp=connection.localDescription.sdp)
        elif signal["call"] == call and signal["kind"] == "answer":
            await connection.setRemoteDescription(aiortc.RTCSessionDescription(signal["sdp"], "answer"))
        elif signal["call"] == call and signal["kind"] in ("hangup", "busy"): return

async def main():
    connection = aiortc.RTCPeerConnection(aiortc.RTCConfiguration(iceServers=servers))
    heard, greeted, began = asyncio.Event(), asyncio.Event(), time.monotonic()
    async def listen(track):
        while max(array.array("h", bytes((await track.recv()).planes[0]))) < 1000: pass
        heard.set()
    async def greet(channel, text):
        greeted.set()
        if role == "answer": await heard.wait() and channel.send(text)
    def use(channel): channel.on("message", lambda text: greet(channel, text))
    connection.addTrack(Tone())
    for event, handler in (("track", listen), ("datachannel", use)): connection.on(event, handler)
    if role == "answer": await signals(connection, None)
    else:
        use(channel := connection.createDataChannel("chat"))
        channel.on("open", lambda: channel.send("hello"))
        await connection.setLocalDescription(await connection.createOffer())
        call = compose("offer", sdp=connection.localDescription.sdp)
        end, talk = asyncio.create_task(signals(connection, call)), asyncio.gather(heard.wait(), greeted.wait())
        await asyncio.wait([end, talk], return_when=asyncio.FIRST_COMPLETED)
        if talk.done():
            print(json.dumps({"connected": round(time.monotonic() - began, 3)}), file=sys.stderr)
            compose("hangup", "--id", call)
    await connection.close()
    return 0 if greeted.is_set() else 1
sys.exit(asyncio.run(main()))
