import SottoDatabase

/// The clock state in a SQLite store.
extension SQLiteStore {
    func clock() throws(StoreError) -> StoredClock? {
        try reader.use { connection throws(StoreError) in
            let stored = try connection.first(
                "SELECT accepted, held, agreed, confirmed FROM clock"
            ) {
                StoredClock(
                    accepted: $0.integer(0), held: $0.isNull(1) ? nil : $0.integer(1),
                    agreed: $0.integer(2), confirmed: $0.isNull(3) ? nil : $0.integer(3))
            }
            if let stored { return stored }
            // A store of an earlier version has no clock state.
            let newest = try connection.integer(
                """
                SELECT max(coalesce((SELECT minute FROM envelope ORDER BY seq DESC LIMIT 1), -1),
                    coalesce((SELECT max(minute) FROM account), -1))
                """)
            return newest >= 0 ? StoredClock(accepted: newest) : nil
        }
    }

    func remember(_ clock: StoredClock) throws(StoreError) {
        try writer.transaction { connection throws(StoreError) in
            try connection.run(
                """
                INSERT INTO clock (one, accepted, held, agreed) VALUES (1, ?1, ?2, ?3)
                ON CONFLICT (one) DO UPDATE SET accepted = ?1, held = ?2, agreed = ?3
                """, clock.accepted, clock.held, clock.agreed)
        }
    }

    func confirm(_ minute: Int64) throws(StoreError) {
        try writer.transaction { connection throws(StoreError) in
            try connection.run(
                """
                INSERT INTO clock (one, accepted, held, agreed, confirmed) VALUES (1, ?1, NULL, 0, ?1)
                ON CONFLICT (one) DO UPDATE SET accepted = ?1, held = NULL, agreed = 0, confirmed = ?1
                """, minute)
        }
    }
}
