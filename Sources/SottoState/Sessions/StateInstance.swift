import CLinux
import Glibc
package import Sotto
import SottoDatabase

// These signs show that a state is another one than the last time. Some copies do not have them:
//
// | what happened                                       | inode     | made   | machine-id | known here                        |
// |-----------------------------------------------------|-----------|--------|------------|-----------------------------------|
// | `cp -a`, rsync, tar, a restored backup of the files | another   | later  | the same   | yes                               |
// | the same to another machine                         | another   | later  | another    | yes                               |
// | `mv` on one file system, a restart, an upgrade      | the same  | same   | the same   | nothing happened                  |
// | `mv` to another file system                         | another   | later  | the same   | taken for a copy                  |
// | `cat copy > file`, rsync --inplace                  | the same  | same   | the same   | no                                |
// | a snapshot of the file system that is put back      | the same  | same   | the same   | no                                |
// | a snapshot of a virtual machine that is put back    | the same  | same   | the same   | no                                |
// | a clone of a disk or of a virtual machine           | the same  | same   | may differ | another instance, if it differs   |
//
// The file system gives a new file the number of a deleted one, so the time at which it was made counts too; a program cannot set
// it, and some file systems do not keep it. The number of the device is different after a restart with other disks. The machine-id
// is not a reason to call the state a copy: a container can get another one each time, and a home directory can move. Where nothing
// is known here, a relay that kept the instance of a later state, or an own signature, tells it.

/// The instance of a state: what differs between two states of one identity.
extension IdentityStore {
    private static let fileName = "file"
    private static let birthName = "file made"
    private static let instanceName = "instance"

    /// Returns the mark of the state at a relay for the owner's mailbox, 16 bytes; see ``instanceMark(instance:relay:mailbox:)``.
    package func instanceMark(at relay: String) throws(StateError) -> [UInt8] {
        let random = try use { connection throws(StateError) in
            try connection.integer(
                "SELECT value FROM number WHERE name = ?", Self.instanceName)
        }
        let machine = Self.machineID()
        let instance = keyedHash(
            Array("instance ".utf8) + UInt64(bitPattern: random).bigEndianBytes + machine,
            key: lookupKey)
        return Sotto.instanceMark(instance: instance, relay: relay, mailbox: owner.id)
    }

    /// Returns the content of /etc/machine-id (machine-id(5)), at most 64 bytes, or nothing. It leaves the machine only in a hash
    /// under a secret key.
    private static func machineID() -> [UInt8] {
        let file = open("/etc/machine-id", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        return Array(bytes[..<max(0, read(file, &bytes, bytes.count))])
    }

    /// Gives a new state its instance. Notices that the state is in another file than before, so that it can be an earlier one, and
    /// gives it another instance then. Its next messages begin new sessions and new chains, at most once a day, so that they use no
    /// key twice. A file that was moved to another disk looks the same: then contacts can be told needlessly, but nothing is lost.
    func noteFile() throws(StateError) {
        var status = stat()
        guard stat(database.path, &status) == 0 else { return }
        let file = Int64(bitPattern: UInt64(status.st_ino))
        let birth = sotto_birth_time(database.path)
        func number(
            _ name: String, _ connection: StateConnection
        ) throws(StateError) -> Int64? {
            try connection.first("SELECT value FROM number WHERE name = ?", name) { $0.integer(0) }
        }
        func isNoted(_ connection: StateConnection) throws(StateError) -> (known: Bool, same: Bool)
        {
            let lastFile = try number(Self.fileName, connection)
            let lastBirth = try number(Self.birthName, connection)
            // 0 means that the file system did not tell it.
            let isSameBirth = birth == 0 || lastBirth == nil || lastBirth == birth
            return (lastFile != nil, lastFile == file && isSameBirth)
        }
        guard try !use(isNoted).same else { return }
        do throws(StateError) {
            try database.transaction { (connection: StateConnection) throws(StateError) in
                // Another process may have noticed it meanwhile.
                let (isKnown, isSame) = try isNoted(connection)
                guard !isSame else { return }
                var numbers = [
                    (Self.fileName, file), (Self.instanceName, Int64.random(in: .min ... .max)),
                ]
                if birth != 0 { numbers.append((Self.birthName, birth)) }
                let (copied, now) = (NewState.Cause.copied.name, Timestamp.now().seconds)
                let last = try number(copied, connection)
                if isKnown { numbers.append((copied, now)) }
                for (name, value) in numbers {
                    try connection.run(
                        """
                        INSERT INTO number (name, value) VALUES (?, ?)
                        ON CONFLICT (name) DO UPDATE SET value = excluded.value
                        """, name, value)
                }
                // The places of the chains and of the sessions were used if the file is an earlier one. A file system that gives a
                // file another number at each start does not end all sessions each time.
                let isRepeated = last.map { (0..<StateTransaction.day).contains(now - $0) } ?? false
                guard isKnown, !isRepeated else { return }
                try connection.run("UPDATE own_chain SET made = 0")
                try StateTransaction.retireAllSessions(connection)
            }
        } catch .database(.locked) {
            // It is noticed when the state is opened next.
            return
        }
    }
}

// MARK: Hints and proofs

extension NewState {
    /// The note for the owner of a state that was found to be an earlier one.
    package static let behindNote =
        "you signed something that is later than this state, so it is an earlier one, or a copy of it is used; the next messages begin new sessions; to tell your contacts: sotto contact repair --send"
}

extension StateTransaction {
    private static let otherName = "other instance"
    private static let loginName = "login day"
    private static let loginRelayName = "login relay"

    /// Notes a login at the relay with this name, and takes the day since 1970 on which it last saw another instance, if it
    /// did. Returns whether this is news for the owner: once in 30 days. A relay can lie about it, and nothing else follows from
    /// it.
    ///
    /// The state has another mark at each name of a relay. If the last login was under another name, the relay can mean that
    /// one.
    package func isNews(
        otherInstance day: Int64?, at relay: String, _ time: Timestamp = .now()
    ) throws(StateError) -> Bool {
        let today = time.seconds / Self.day
        let name = Int64(
            bitPattern: UInt64(bigEndianBytes: sha256(Array(relay.utf8)).prefix(8)) ?? 0)
        let (lastName, lastDay) = (
            try remembered(Self.loginRelayName), try remembered(Self.loginName)
        )
        if lastName != name { try remember(Self.loginRelayName, name) }
        if lastDay != today { try remember(Self.loginName, today) }
        // The clocks can differ by a day.
        guard let day, (today - Self.hintDays...today + 1).contains(day) else { return false }
        if let lastName, let lastDay, lastName != name, day <= lastDay + 1 { return false }
        let said = try remembered(Self.otherName)
        if let said, (0..<Self.hintDays).contains(today - said) { return false }
        try remember(Self.otherName, today)
        return true
    }

    /// Days for which a relay keeps an instance, and between two hints about others.
    private static let hintDays: Int64 = 30

    /// Whether an own signature proved within 30 days that the state is an earlier one.
    func wasProven(at time: Timestamp) throws(StateError) -> Bool {
        guard let since = try remembered(NewState.Cause.behind.name) else { return false }
        return (-Self.day..<NewState.lifetime).contains(time.seconds - since)
    }

    /// Takes an own signature of a time, which this state did not make. It proves that the state is an earlier one, unless it is from
    /// the time before this state was made. The first proof in 30 days ends all sessions and own chains for sending, and the next
    /// publication has new prekeys. Returns whether it is the first one.
    func takeProof(of signed: Timestamp, at time: Timestamp) throws(StateError) -> Bool {
        guard try !wasProven(at: time),
            signed.seconds > (try remembered(NewState.Cause.made.name) ?? 0)
        else { return false }
        try remember(NewState.Cause.behind.name, time.seconds)
        try retireAllSessions()
        try endOwnChains()
        try wantRenewal()
        hasProof = true
        return true
    }

    /// Takes the proof of the changes of this device among some that were verified, which the log of a known group lacks. Those of the
    /// owner's other devices prove nothing.
    func takeProof(
        in changes: [GroupChange], of group: StoredGroup, at time: Timestamp
    ) throws(StateError) {
        for change in changes
        where change.device == owner.device && !group.log.contains(change.id) {
            if try takeProof(of: change.time, at: time) { return }
        }
    }

    /// Returns whether a proof that the state is an earlier one was taken since the last call.
    package func takeFoundBehind() -> Bool {
        defer { hasProof = false }
        return hasProof
    }
}
