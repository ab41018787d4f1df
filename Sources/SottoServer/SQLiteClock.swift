import SottoState

/// The clock state in a SQLite store.
extension SQLiteStore {
    func clock() throws(StateError) -> StoredClock? {
        try reader.use { connection throws(StateError) in
            let select = try connection.statement(
                "SELECT accepted, held, agreed, confirmed FROM clock")
            defer { select.reset() }
            if try select.step() {
                return StoredClock(
                    accepted: select.integer(0),
                    held: select.isNull(1) ? nil : select.integer(1), agreed: select.integer(2),
                    confirmed: select.isNull(3) ? nil : select.integer(3))
            }
            // A store of an earlier version has no clock state.
            let newest = try connection.statement(
                """
                SELECT max(coalesce((SELECT minute FROM envelope ORDER BY seq DESC LIMIT 1), -1),
                    coalesce((SELECT max(minute) FROM account), -1))
                """)
            defer { newest.reset() }
            guard try newest.step(), newest.integer(0) >= 0 else { return nil }
            return StoredClock(accepted: newest.integer(0))
        }
    }

    func remember(_ clock: StoredClock) throws(StateError) {
        try writer.transaction { connection throws(StateError) in
            let upsert = try connection.statement(
                """
                INSERT INTO clock (one, accepted, held, agreed) VALUES (1, ?1, ?2, ?3)
                ON CONFLICT (one) DO UPDATE SET accepted = ?1, held = ?2, agreed = ?3
                """)
            upsert.bind(1, clock.accepted)
            if let held = clock.held { upsert.bind(2, held) } else { upsert.bindNull(2) }
            upsert.bind(3, clock.agreed)
            try upsert.run()
        }
    }

    func confirm(_ minute: Int64) throws(StateError) {
        try writer.transaction { connection throws(StateError) in
            let upsert = try connection.statement(
                """
                INSERT INTO clock (one, accepted, held, agreed, confirmed) VALUES (1, ?1, NULL, 0, ?1)
                ON CONFLICT (one) DO UPDATE SET accepted = ?1, held = NULL, agreed = 0, confirmed = ?1
                """)
            upsert.bind(1, minute)
            try upsert.run()
        }
    }
}
