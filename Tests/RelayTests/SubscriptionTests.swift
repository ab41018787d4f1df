import Sotto
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// The amount that is read at once for a subscriber.
struct SubscriptionTests {
    private func page(_ count: Int, bytes: Int) -> Page {
        var page = Page()
        let mailbox = Sample.identity().id
        for number in 0..<count {
            let envelope = Sample.envelope(
                to: mailbox, text: String(repeating: "A", count: bytes))
            page.messages.append(
                (envelope.id, Delivered(sequence: Int64(number), envelope: envelope.bytes)))
        }
        page.hasMore = true
        return page
    }

    @Test(arguments: [(1_000, 64), (60_000, 2)])
    func longEnvelopesAreReadFewAtATime(_ bytes: Int, _ limit: Int) throws {
        var subscription = Subscription()
        let read = subscription.beginRead()
        let first = try #require(read)
        #expect(first.limit * WireLimits.envelopeBytes <= WireLimits.fetchBytes)
        _ = subscription.endRead(page(first.limit, bytes: bytes))
        #expect(subscription.beginRead()?.limit == limit)
    }
}
