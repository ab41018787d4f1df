import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import Sotto
import SottoNetwork
import SottoWire
import Synchronization

/// A second connection to a relay whose certificate was refused, which only finds out why. It sends nothing after the
/// certificates of the relay.
enum CertificateProbe {
    /// Calls `done` with the flaw on any thread, within some seconds.
    static func run(
        _ relay: RelayURL, _ group: MultiThreadedEventLoopGroup,
        done: @escaping @Sendable (CertificateFlaw) -> Void
    ) {
        let collected = Chain()
        ClientBootstrap(group: group)
            .connectTimeout(.seconds(RelayLink.connectionSeconds))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let context = try ClientTLS.context(authorities: nil, isPinned: true)
                    try channel.pipeline.syncOperations.addHandler(
                        ClientTLS.handler(context, host: relay.host) { collected.set($0) })
                }
            }
            .connect(host: relay.host, port: Int(relay.port))
            .flatMap { channel in
                let timeout = channel.eventLoop.scheduleTask(
                    in: .seconds(RelayLink.connectionSeconds)
                ) { channel.close(promise: nil) }
                return channel.closeFuture.always { _ in timeout.cancel() }
            }
            .whenComplete { _ in
                let authorities =
                    relay.authorities.flatMap { try? NIOSSLCertificate.fromPEMFile($0) } ?? []
                done(
                    CertificateFlaw(
                        of: collected.get(), host: relay.host, authorities: authorities,
                        at: Timestamp.now().seconds))
            }
    }

    private final class Chain: Sendable {
        private let chain = Mutex<[NIOSSLCertificate]>([])

        func set(_ new: [NIOSSLCertificate]) { chain.withLock { $0 = new } }
        func get() -> [NIOSSLCertificate] { chain.withLock { $0 } }
    }
}
