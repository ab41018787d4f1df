import Sotto
import Testing

/// Signals of calls.
struct CallSignalTests {
    static let id = "6e2f0d1c-6c0b-4b7e-9d6f-2b8a5c3d1e0f"

    @Test(arguments: [
        ("v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 96\r\n", CallSignal.Media.audio),
        ("v=0\r\nm=video 9 RTP/AVP 96\r\nm=audio 9 RTP/AVP 96\r\n", .video),
        ("v=0\nm=audio 9 RTP/AVP 96\nm=video 9 RTP/AVP 96\n", .video),
        ("v=0\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n", nil),
        ("v=0\r\na=note:m=audio 9\r\nm=audiovisual 9\r\n", nil), ("", nil),
    ])
    func theDescriptionTellsTheMedia(_ sdp: String, _ media: CallSignal.Media?) {
        #expect(CallSignal.media(of: sdp) == media)
        #expect(CallSignal(.offer, call: Self.id, sdp: sdp).media == media)
    }

    @Test func theHistoryKeepsNoAddressesAndNoKeys() throws {
        let sdp =
            "v=0\r\nc=IN IP4 192.0.2.7\r\na=fingerprint:sha-256 AA:BB\r\nm=audio 9 RTP/AVP 0\r\n"
        for kind in [CallSignal.Kind.offer, .answer] {
            let kept = CallSignal(kind, call: Self.id, sdp: sdp).kept
            let body = try MessageBody(kept)
            guard case .call(let signal) = body.kind else {
                Issue.record("no call")
                continue
            }
            #expect(signal.kind == kind && signal.media == .audio && signal.sdp == "")
            #expect(body.extra.members.isEmpty)
        }
        let end = CallSignal(.hangup, call: Self.id, reason: .declined)
        #expect(end.kept == MessageBody(.call(end)).record)
    }

    @Test func aSignalIsReadAsItIsWritten() throws {
        let signals = [
            CallSignal(.offer, call: Self.id, sdp: "v=0\r\n"),
            CallSignal(.answer, call: Self.id, sdp: "v=0\r\nm=video 9 RTP/AVP 96\r\n"),
            CallSignal(
                .candidates, call: Self.id,
                candidates: [.string("candidate:1"), .object(["candidate": .string("x")])]),
            CallSignal(.hangup, call: Self.id, reason: .timeout), CallSignal(.busy, call: Self.id),
        ]
        for signal in signals {
            #expect(try MessageBody(MessageBody(.call(signal)).record).kind == .call(signal))
        }
    }
}
