extension Message {
    /// Checks the form of the members that other people wrote: the body, and those that this version does not know. Throws
    /// ``BodyError``, also for the members of the body.
    public func checkForm() throws(BodyError) {
        try Self.checkExtra(extra)
        _ = try MessageBody(body)
    }

    /// Checks the form of the members that are passed through unchanged.
    public static func checkExtra(_ extra: [(name: String, value: JSON)]) throws(BodyError) {
        do throws(RecordFormError) {
            try RecordForm.message.check(JSONObject(extra.map { ($0.name, $0.value) }))
        } catch {
            throw .form(error)
        }
    }
}
