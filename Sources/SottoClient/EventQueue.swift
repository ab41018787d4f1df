import Glibc
import SottoState

/// A queue of events from several threads, read by one thread that can wait.
final class EventQueue<Event: Sendable>: @unchecked Sendable {
    // Sendable: `events` is accessed only under `mutex`.
    private var events: [Event] = []
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let arrival = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(arrival, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(arrival)
        pthread_mutex_destroy(mutex)
        arrival.deallocate()
        mutex.deallocate()
    }

    /// The number of waiting events from which a connection stops reading, so that a relay that sends without end fills no
    /// memory.
    private static var limit: Int { 1_000 }

    /// Whether too many events wait to read more.
    var isFull: Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return events.count >= Self.limit
    }

    /// Adds an event.
    func put(_ event: Event) {
        pthread_mutex_lock(mutex)
        events.append(event)
        pthread_cond_signal(arrival)
        pthread_mutex_unlock(mutex)
    }

    /// Takes the first event. Waits like ``take(timeout:)``, and returns `nil` after the timeout.
    func takeOne(timeout: Double?) -> Event? {
        take(timeout: timeout) { events in events.isEmpty ? nil : events.removeFirst() }
    }

    /// Takes all queued events, in order. If the queue is empty, waits for one for at most `timeout` seconds, or
    /// without a limit for `nil`.
    func take(timeout: Double?) -> [Event] {
        take(timeout: timeout) { events in
            defer { events = [] }
            return events
        }
    }

    private func take<T>(timeout: Double?, _ body: (inout [Event]) -> T) -> T {
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        if let timeout {
            let nanoseconds = Double(deadline.tv_nsec) + max(0, min(timeout, 1e8)) * 1e9
            deadline.tv_sec += Int(nanoseconds / 1e9)
            deadline.tv_nsec = Int(nanoseconds.truncatingRemainder(dividingBy: 1e9))
        }
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while events.isEmpty {
            if timeout == nil {
                pthread_cond_wait(arrival, mutex)
            } else if pthread_cond_timedwait(arrival, mutex, &deadline) != 0 {
                break
            }
        }
        return body(&events)
    }
}
