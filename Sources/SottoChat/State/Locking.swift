import Sotto
import SottoProgram

/// The identity under a passphrase.
extension ChatState {
    mutating func endLockStatus(_ run: Running) {
        let word = run.lines.first.map { String(decoding: $0, as: UTF8.self) } ?? ""
        guard word != "locked" else {
            guard options.form == .screen else {
                effects.append(.warn("sotto chat: error: the identity is locked"))
                effects.append(.warn("sotto chat: hint: unlock it: sotto keygen unlock"))
                return end(78)
            }
            lock = LockPrompt()
            return
        }
        hasPassphrase = word != "no passphrase"
        guard run.status == 0 else {
            for line in run.errors { effects.append(.warn(line)) }
            return end(run.status)
        }
        begin()
    }

    /// A tool found the identity locked, while the chat runs. The user asks for the prompt, so that it takes nothing that is typed.
    mutating func noteLock() {
        guard !isLocked else { return }
        isLocked = true
        complain(Running.lockCause)
    }

    mutating func askPassphrase() {
        guard options.form == .screen else { return say("unlock it: sotto keygen unlock") }
        overlay = nil
        lock = LockPrompt()
    }

    /// Asks whether the identity is unlocked, because another program can have locked it.
    mutating func askUnlocked() {
        guard passphrase == nil else {
            return say("the identity is unlocked: the chat keeps the passphrase until its end")
        }
        run(.unlockStatus, "keygen", ["unlock", "--status"])
    }

    mutating func endUnlockStatus(_ run: Running) {
        let word = run.lines.first.map { String(decoding: $0, as: UTF8.self) } ?? ""
        if word == "locked" {
            isLocked = true
            return askPassphrase()
        }
        guard run.status == 0 else { return refuse(run.advice, status: run.status) }
        let pieces = word.pieces(between: "unlocked until ")
        guard pieces.count > 1, let end = Timestamp(String(pieces[1])) else {
            return say("the identity has no passphrase")
        }
        let time = Words.moment(options.localTime(end))
        say(
            locking == .never
                ? "the identity is unlocked until \(time)"
                : "the identity is unlocked until the end of the chat, at most until \(time)")
    }

    /// Whether typed text can be a passphrase. Then it must come as ``ChatEvent/typed(_:)``.
    package var takesPassphrase: Bool { lock != nil }

    /// Takes text that can be a passphrase. After a key that ended the prompt it is ordinary text.
    mutating func takeTyped(_ text: TypedPassphrase) {
        defer { text.removeAll() }
        guard let lock else {
            var decoder = KeyDecoder()
            let inputs = text.secret().withBytes { decoder.decode($0) }
            for case .key(let key) in inputs { take(key) }
            return
        }
        isInterrupted = false
        if !lock.isWaiting { lock.passphrase.append(text) }
    }

    mutating func takeInLock(_ key: Key) {
        guard let prompt = lock, !prompt.isWaiting else {
            if key == .control("c") { end(130) }
            return
        }
        switch key {
        case .text(let text): prompt.passphrase.append(text)
        case .backspace: prompt.passphrase.removeLast()
        case .control("u"): prompt.passphrase.removeAll()
        case .tab: lock?.stays.toggle()
        case .enter where prompt.passphrase.count > 0:
            lock?.isWaiting = true
            // If the program ends before the answer, the identity must not stay unlocked.
            lock?.locking = locking
            locking = prompt.stays ? locking : .ifLast
            effects.append(.unlock(prompt.passphrase))
        case .escape where isStarted: lock = nil
        case .control("c"), .control("d"):
            prompt.passphrase.removeAll()
            isStarted ? (lock = nil) : end(key == .control("c") ? 130 : 0)
        default: break
        }
    }

    mutating func takeUnlocking(_ status: Int32, _ message: String) {
        guard let prompt = lock else { return }
        if status != 0 { locking = prompt.locking }
        if status != 0, message.contains("kernel's keyring") {
            // The chat keeps the passphrase, if it is right, and gives it to each tool.
            passphrase = prompt.passphrase
            run(.trial, "history", ["list", "--json"])
            return
        }
        prompt.passphrase.removeAll()
        guard status == 0 else { return askPassphraseAgain(message) }
        if prompt.stays { locking = .never }
        unlocked("unlocked")
    }

    /// Takes the end of a tool that needed the passphrase.
    mutating func endTrial(_ run: Running) {
        // Status 1: the history is empty.
        guard run.status == 0 || run.status == 1 else {
            passphrase?.removeAll()
            passphrase = nil
            return askPassphraseAgain(run.cause)
        }
        unlocked("the kernel keeps no keys here: the chat keeps the passphrase until its end")
    }

    private mutating func askPassphraseAgain(_ message: String) {
        lock = LockPrompt(
            stays: lock?.stays ?? false, message: Words.cause([message]) ?? "it is still locked")
    }

    private mutating func unlocked(_ words: String) {
        lock = nil
        (isLocked, mailTrouble) = (false, nil)
        guard isStarted else {
            begin()
            if passphrase != nil { say(words) }
            return
        }
        if isComplete {
            if news.id == nil { startNews() }
            if mail.id == nil { startMail() }
        } else if conversation == nil, let who = options.who {
            resolve(who)
        }
        refreshes.formUnion(Refresh.allCases)
        if conversation?.isLoaded == false { loadPage() }
        say(words)
    }
}

extension Pipeline.Stage {
    private static let tools: Set<String> = [
        "compose", "contact", "decrypt", "encrypt", "group", "history", "recv",
    ]

    /// The stage with the option that reads the passphrase, if the tool uses the identity. Options follow a subcommand.
    var withPassphrase: Self {
        guard Self.tools.contains(tool) else { return self }
        var stage = self
        let isSubcommand = arguments.first.map { !$0.hasPrefix("-") } ?? false
        stage.arguments.insert(
            contentsOf: ["--identity-passphrase", ToolRun.secretSource], at: isSubcommand ? 1 : 0)
        return stage
    }
}
