public import Sotto

/// Keys of a contact that the user accepted in place of others.
extension StateTransaction {
    /// Returns a contact as it is with the keys on a card, which the user accepted: trusted, with the name and the settings that it
    /// had. The caller saves it. The conversation gets a line, and the owner's other devices are told.
    ///
    /// `lacksSession` is whether messages to the contact used a session, and none exists with the accepted key: then none leaves until
    /// one does.
    public func accept(
        _ card: Card, for contact: Contact
    ) throws(StateError) -> (contact: Contact, lacksSession: Bool) {
        var new = Contact(name: contact.name, id: card.id, card: card, added: contact.added)
        new.isBlocked = contact.isBlocked
        new.suite = contact.suite
        new.getsReceipts = contact.getsReceipts
        new.getsTyping = contact.getsTyping
        new.getsPresence = contact.getsPresence
        let succession = try news(of: contact.id).succession
        new.former = succession?.next == card.id ? succession?.former : nil
        // The contact was given these addresses, and mail to them must not be lost.
        new.takeAddresses(of: contact)
        // Messages that used a session must not silently be sent without one.
        let hadSession = try hasSession(with: contact.id)
        let hasSession = try hasSession(with: card.id)
        let lacksSession = contact.suite == nil && hadSession && !hasSession
        if lacksSession { new.suite = .ratchet }
        try recordSystem(.keyAccepted, about: new.id, former: contact.id)
        if let record = card.record {
            try tellDevices(.contact(new.id, .replaces(contact.id, card: record)))
        }
        return (new, lacksSession)
    }
}
