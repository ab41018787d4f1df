import Glibc

/// A task for a ``ThreadPool``. The submitter does not touch it until it is done.
class ThreadPoolTask: @unchecked Sendable {
    fileprivate var isPending = false

    /// Runs the task on a thread of the pool.
    func run() {}
}

/// A few threads for long computations. They are created with the first task.
package final class ThreadPool {
    /// The state that the threads share. Threads hold the state and not the pool, whose `deinit` stops them.
    private final class State: @unchecked Sendable {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
        var tasks: [ThreadPoolTask] = []
        var isStopped = false

        init() {
            pthread_mutex_init(mutex, nil)
            pthread_cond_init(changed, nil)
        }

        deinit {
            pthread_cond_destroy(changed)
            pthread_mutex_destroy(mutex)
            changed.deallocate()
            mutex.deallocate()
        }

        func locked<T>(_ body: () -> T) -> T {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return body()
        }

        func runTasks() {
            while true {
                let task: ThreadPoolTask? = locked {
                    while tasks.isEmpty, !isStopped { pthread_cond_wait(changed, mutex) }
                    return tasks.isEmpty ? nil : tasks.removeFirst()
                }
                guard let task else { return }
                task.run()
                locked {
                    task.isPending = false
                    pthread_cond_broadcast(changed)
                }
            }
        }
    }

    /// The number of threads: one for each processor, at most 8.
    package static let size = min(8, max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))))

    private let state = State()
    private var threads: [pthread_t] = []

    /// Creates a pool.
    package init() {}

    deinit {
        state.locked {
            state.isStopped = true
            pthread_cond_broadcast(state.changed)
        }
        for thread in threads { pthread_join(thread, nil) }
    }

    /// Runs a task on a thread, or on the calling thread if no thread can be created.
    func submit(_ task: ThreadPoolTask) {
        if threads.isEmpty { begin() }
        guard !threads.isEmpty else { return task.run() }
        state.locked {
            task.isPending = true
            state.tasks.append(task)
            pthread_cond_broadcast(state.changed)
        }
    }

    /// Whether a submitted task is done.
    func isDone(_ task: ThreadPoolTask) -> Bool { state.locked { !task.isPending } }

    /// Waits until a submitted task is done.
    func wait(for task: ThreadPoolTask) {
        state.locked {
            while task.isPending { pthread_cond_wait(state.changed, state.mutex) }
        }
    }

    /// Calls `body` with 0 to `count` − 1 on the threads, and returns when all calls have returned.
    package func forEach(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let tasks = (0..<count).map { IndexTask($0, body) }
        for task in tasks { submit(task) }
        for task in tasks { wait(for: task) }
    }

    private func begin() {
        for _ in 0..<Self.size {
            var thread = pthread_t()
            let shared = Unmanaged.passRetained(state)
            let result = pthread_create(
                &thread, nil,
                { pointer in
                    guard let pointer else { return nil }
                    Unmanaged<State>.fromOpaque(pointer).takeRetainedValue().runTasks()
                    return nil
                }, shared.toOpaque())
            guard result == 0 else {
                shared.release()
                return
            }
            threads.append(thread)
        }
    }
}

/// A call of ``ThreadPool/forEach(_:_:)``.
private final class IndexTask: ThreadPoolTask, @unchecked Sendable {
    // Sendable: both properties are constant.
    private let index: Int
    private let body: @Sendable (Int) -> Void

    init(_ index: Int, _ body: @escaping @Sendable (Int) -> Void) {
        self.index = index
        self.body = body
    }

    override func run() { body(index) }
}
