/// Keys and pastes.
extension ChatState {
    mutating func take(_ key: Key) {
        if key != .control("c") { isInterrupted = false }
        if status?.isAlert == false || key == .escape && lock == nil { status = nil }
        switch key {
        case .control("l"):
            effects.append(.repaint)
            return
        case .control("z"):
            effects.append(.suspend)
            return
        default: break
        }
        if lock != nil { return takeInLock(key) }
        switch key {
        case .control("y"): return answer(true)
        case .control("n"): return answer(false)
        case .control("o"):
            if let question = questions.take() {
                questions.putOff(question)
                say("asked again with /questions")
            }
            return
        case .control("c"): return interrupt()
        default: break
        }
        // Only the list has keys of Alt.
        if case .alt = key, conversation != nil || overlay != nil { return }
        if overlay != nil { return takeInOverlay(key) }
        if isOpening { return takeWhileOpening(key) }
        if conversation?.selection != nil, takeInSelection(key) { return }
        if conversation != nil { takeInConversation(key) } else { takeInList(key) }
    }

    mutating func paste(_ text: String) {
        if let lock {
            if !lock.isWaiting { lock.passphrase.append(text.filter { !$0.isNewline }) }
            return
        }
        overlay = nil
        conversation?.selection = nil
        insert(conversation == nil ? String(text.prefix { !$0.isNewline }) : text)
    }

    /// Takes a key while a named conversation is being opened: the text is for that one, and waits.
    private mutating func takeWhileOpening(_ key: Key) {
        switch key {
        case .enter: say("not sent: the conversation is being opened")
        case .text(let text): insert(text)
        default: _ = editor.take(key)
        }
    }

    mutating func insert(_ text: String) {
        if !editor.insert(text) {
            complain("the text is too long: at most \(LineEditor.limit / 1024) KiB")
        }
        if conversation == nil, !isOpening { chooseTyped() }
        if !isOpening { signalTyping() }
    }

    private mutating func interrupt() {
        if isFinishing { return endCounting(130) }
        if !editor.isEmpty || subject != nil {
            remember(editor.text)
            editor.set("")
            subject = nil
            return
        }
        guard isInterrupted else {
            isInterrupted = true
            return say("Ctrl-C again ends")
        }
        endCounting(130)
    }
}
