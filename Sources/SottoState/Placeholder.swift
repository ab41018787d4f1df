import GRDB
import Sotto
enum X { static func f() throws { _ = try DatabaseQueue() } }
