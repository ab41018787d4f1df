import SottoDatabase

/// The clock state in a SQLite store.
extension SQLiteStore {
    func clock() throws(StoreError) -> StoredClock? {
        try reader.use { connection throws(StoreError) in
            try connection.first(
                "SELECT accepted, held, agreed, confirmed FROM clock"
            ) { row throws(StoreError) in
                StoredClock(
                    accepted: row.integer(0), held: row.isNull(1) ? nil : row.integer(1),
                    agreed: row.integer(2), confirmed: row.isNull(3) ? nil : row.integer(3))
            }
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
