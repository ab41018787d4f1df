import SottoWire

/// The limits of meetings for each network. A network that uses more than the free ones does a proof of work for each.
/// Loopback has no limit as a network, because a proxy has one address for all, but it has the limit of all places.
/// A relay for members must not learn which member meets, so there each one needs a proof of work.
struct MeetingLimits: Sendable {
    /// The places that a network makes in ten minutes without a proof of work.
    static let freePlaces = 10.0
    /// The places that a network uses in ten minutes without a proof of work. Each connection to a place counts, and
    /// each side makes three.
    static let freeUses = 40.0
    /// The places that a network makes in ten minutes.
    static let places = 100.0
    /// The places that are made in ten minutes in all without a proof of work: a small part of ``MeetingChange/places``.
    static let freePlacesOfAll = 200.0

    /// The places that are made without a proof of work.
    private let openings = Self.rates(Self.freePlaces)
    /// The places that are used without a proof of work.
    let uses = Self.rates(Self.freeUses)
    /// All places that are made.
    let allOpenings = Self.rates(Self.places)

    private let openingsOfAll = Self.rates(Self.freePlacesOfAll)

    /// Counts a place of a network. Returns false if it needs a proof of work.
    func isFreePlace(from network: [UInt8]?, at now: Double) -> Bool {
        // All networks share one count.
        openings.admit(1, from: network, at: now) && openingsOfAll.admit(1, from: [], at: now)
    }

    private static func rates(_ count: Double) -> NetworkRates {
        NetworkRates(rate: count / Double(WireLimits.meetingSeconds), capacity: count)
    }
}
