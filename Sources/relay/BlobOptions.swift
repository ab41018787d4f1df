import Arguments
import SottoBytes
import SottoServer
import SottoTool

/// The options for the limits of blobs.
struct BlobOptions: ArgumentGroup {
    @Option(
        "--blob-bytes", value: "size",
        help: "The most bytes of all blobs, such as 10GB; 0 refuses blobs.", values: .any)
    var total = "10GB"

    @Option(
        "--blob-mailbox-bytes", value: "size",
        help: "The most bytes of the blobs of one mailbox.", values: .any)
    var mailbox = "1GB"

    @Option(
        "--blob-network-bytes", value: "size",
        help: "The most bytes that one network uploads in a day; 0 for no limit.", values: .any)
    var network = "1GB"

    @Option(
        "--blob-ttl", value: "duration", help: "Time until a blob is deleted, in whole days.",
        values: .any)
    var ttl = DayCount(days: BlobLimits().minutes / (24 * 60))

    /// Copies the options into a plan.
    func apply(to plan: inout RelayConfiguration) throws(Failure) {
        func size(_ text: String, _ option: String, mayBeZero: Bool) throws(Failure) -> Int64 {
            if mayBeZero, text == "0" { return 0 }
            guard let size = RelayTool.size(text) else {
                throw Failure(
                    .usage, "\(option) is not a size", hint: "for example \(option) 1GB")
            }
            return size
        }
        plan.blobs.total = try size(total, "--blob-bytes", mayBeZero: true)
        plan.blobs.mailbox = try size(mailbox, "--blob-mailbox-bytes", mayBeZero: false)
        plan.blobs.networkDay = try size(network, "--blob-network-bytes", mayBeZero: true)
        plan.blobs.minutes = ttl.days * 24 * 60
    }
}
