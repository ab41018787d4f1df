/// A message that its author shows or sends again: `{"id"|"place","time","body"}`, an element of `history` in the bodies `group`
/// and `history`. sotto-formats(5), BODIES.
package struct EarlierMessage: Sendable {
    /// What the message is known by.
    package enum Name: Sendable {
        /// The id of a message to one person.
        case id(String)
        /// The place of a message to a group.
        case place(GroupContent.Place)
    }

    package let name: Name
    /// When its author wrote it.
    package let time: Timestamp
    package let body: JSONObject

    package init(_ name: Name, time: Timestamp, body: JSONObject) {
        (self.name, self.time, self.body) = (name, time, body)
    }

    /// Reads ``object``. Throws ``FieldError``; the members of the body are not checked.
    package init(_ object: JSONObject) throws(FieldError) {
        let fields = Fields<FieldError>(object)
        if let field = fields["place"].optional {
            guard let place = GroupContent.Place(try field.object()), object["id"] == nil else {
                throw field.failure
            }
            name = .place(place)
        } else {
            name = .id(try fields["id"].text { Envelope.isID($0) ? $0 : nil })
        }
        time = try fields["time"].time()
        body = try fields["body"].object()
    }

    /// The object.
    package var object: JSONObject {
        let first: (String, JSON) =
            switch name {
            case .id(let id): ("id", .string(id))
            case .place(let place): ("place", .object(place.object))
            }
        return JSONObject([
            (first.0, first.1), ("time", .string(time.description)), ("body", .object(body)),
        ])
    }

    /// Returns the id of the message of an author to a group, or for `nil` to one person. `nil` if the message has a name of the
    /// other kind.
    package func id(in group: GroupID?, of author: KeyID) -> String? {
        switch (name, group) {
        case (.id(let id), nil): id
        case (.place(let place), let group?): place.id(group, author)
        default: nil
        }
    }
}
