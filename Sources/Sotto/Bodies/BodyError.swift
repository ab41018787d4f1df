/// A reason to refuse a body.
public enum BodyError: UnversionedRecordError, Sendable, Hashable {
    /// A member is missing or malformed. The path has the names of its objects, such as `target.id`.
    case member(String)
    /// A text or data has more bytes than the limit, or an array more elements.
    case tooLong(String, limit: Int)
    /// The body of an edit is of this type, which is not content.
    case notContent(String)
    /// The body is of type `system`, which is only made locally.
    case system
    /// The body, or the message around it, as a whole is not in its form.
    case form(RecordFormError)
}
