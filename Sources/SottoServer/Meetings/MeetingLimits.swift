import SottoWire

/// The limits of meetings for each network. A network that uses more than the free ones does a proof of work for each.
/// A relay for members must not learn which member meets, so there each one needs a proof of work.
struct MeetingLimits: Sendable {
    /// The places that a network makes in ten minutes without a proof of work.
    static let freePlaces = 10.0
    /// The places that a network uses in ten minutes without a proof of work. Each connection to a place counts, and
    /// each side makes three.
    static let freeUses = 40.0
    /// The places that a network makes in ten minutes.
    static let places = 100.0

    /// The places that are made without a proof of work.
    let openings = Self.rates(Self.freePlaces)
    /// The places that are used without a proof of work.
    let uses = Self.rates(Self.freeUses)
    /// All places that are made.
    let allOpenings = Self.rates(Self.places)

    private static func rates(_ count: Double) -> NetworkRates {
        NetworkRates(rate: count / Double(WireLimits.meetingSeconds), capacity: count)
    }
}
