#!/usr/bin/env python3
# call.py offer|answer WHO [TURN]: a call with a data channel and a tone. Reads records of decrypt, writes records for
# encrypt. WHO is a contact, TURN a file of recv --turn. The caller hangs up after the tone and the echo of its greeting.
# A call that does not begin within 60 s ends. Needs aiortc (PyPI). Exit status: 0 the call took place; 1 it did not.
import aiortc, array, asyncio, itertools, json, subprocess, sys, threading, time
_, role, who, *files = sys.argv if sys.argv[2:] and sys.argv[1] in ("offer", "answer") else sys.exit("usage: call.py offer|answer WHO [TURN]")
class Tone(aiortc.mediastreams.AudioStreamTrack):
    async def recv(self):
        (frame := await super().recv()).planes[0].update(array.array("h", [8000, 8000, -8000, -8000] * (frame.samples // 4)).tobytes())
        return frame
def compose(*words, sdp=""):
    print(record := subprocess.check_output(["sotto", "compose", "call", *words, "--to", who], input=sdp, text=True), end="", flush=True)
    return json.loads(record)["body"]["call"]
async def signals(connection, call):  # until the call ends; returns the reason
    put, lines = asyncio.get_running_loop().call_soon_threadsafe, asyncio.Queue()
    threading.Thread(target=lambda: [put(lines.put_nowait, line) for line in itertools.chain(sys.stdin, [""])], daemon=True).start()
    while line := await lines.get():
        signal = (record := json.loads(line)).get("body", {})
        if signal.get("type") != "call" or who.lower() not in [str(record.get(m)).lower() for m in ("name", "from")]: continue
        if role == "answer" and record.get("ringing") and not call:
            call = signal["call"]
            try:
                await connection.setRemoteDescription(aiortc.RTCSessionDescription(signal["sdp"], "offer"))
                await connection.setLocalDescription(await connection.createAnswer())
            except ValueError: return compose("hangup", "--id", call) and f"the offer of {who} has no audio, or is malformed"
            compose("answer", "--id", call, sdp=connection.localDescription.sdp)
        elif signal["call"] == call and signal["kind"] == "answer":
            await connection.setRemoteDescription(aiortc.RTCSessionDescription(signal["sdp"], "answer"))
        elif signal["call"] == call and signal["kind"] in ("busy", "hangup"):
            return who + (" is busy" if signal["kind"] == "busy" else " ended the call")
    return "the input ended before the call"
async def main(turn):
    connection = aiortc.RTCPeerConnection(aiortc.RTCConfiguration(iceServers=turn))
    heard, greeted, began, call = asyncio.Event(), asyncio.Event(), time.monotonic(), None
    async def listen(track):
        while max(array.array("h", bytes((await track.recv()).planes[0]))) < 1000: pass
        heard.set()
    async def greet(channel, text):
        greeted.set()
        if role == "answer": await heard.wait() and channel.send(text)
    def use(channel): channel.on("message", lambda text: greet(channel, text))
    connection.addTrack(Tone())
    for event, handler in (("track", listen), ("datachannel", use)): connection.on(event, handler)
    talk = asyncio.create_task(asyncio.wait([asyncio.create_task(event.wait()) for event in [greeted, heard][:1 + (role == "offer")]]))
    if role == "offer":
        use(channel := connection.createDataChannel("chat"))
        channel.on("open", lambda: channel.send("hello"))
        await connection.setLocalDescription(await connection.createOffer())
        call = compose("offer", sdp=connection.localDescription.sdp)
    end = asyncio.create_task(signals(connection, call))
    await asyncio.wait([end, talk], timeout=60, return_when=asyncio.FIRST_COMPLETED)
    if not call and greeted.is_set(): await end
    if call and talk.done(): print(json.dumps({"connected": round(time.monotonic() - began, 3)}), file=sys.stderr)
    if call and not end.done(): compose("hangup", "--id", call)
    await connection.close()
    return None if greeted.is_set() else end.result() if end.done() else f"{who} did not answer" if call else f"no call of {who} came"
try:
    turn = [aiortc.RTCIceServer(t["uris"], t["username"], t["password"]) for t in map(json.load, map(open, files))]
    sys.exit((reason := asyncio.run(main(turn))) and f"call.py: {reason}")
except (OSError, ValueError, KeyError, TypeError, subprocess.CalledProcessError) as error: sys.exit(f"call.py: {error}")
