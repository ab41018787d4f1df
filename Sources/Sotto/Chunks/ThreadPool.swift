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
        /// The tasks that run when ``tasks`` is empty.
        var laterTasks: [ThreadPoolTask] = []
        var isStopped = false
        private let beforeWaiting: @Sendable () -> Void

        init(beforeWaiting: @escaping @Sendable () -> Void) {
            self.beforeWaiting = beforeWaiting
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

        /// Takes the next task, or returns `nil` without one. The caller holds the lock.
        func next() -> ThreadPoolTask? {
            if !tasks.isEmpty { return tasks.removeFirst() }
            return laterTasks.isEmpty ? nil : laterTasks.removeFirst()
        }

        /// Waits for the next task; returns `nil` when the pool has stopped.
        private func waitForTask() -> ThreadPoolTask? {
            if let task = locked({ next() }) { return task }
            beforeWaiting()
            return locked {
                while true {
                    if let task = next() { return task }
                    if isStopped { return nil }
                    pthread_cond_wait(changed, mutex)
                }
            }
        }

        func runTasks() {
            while let task = waitForTask() {
                task.run()
                locked {
                    task.isPending = false
                    pthread_cond_broadcast(changed)
                }
            }
        }
    }

    /// The number of threads that work, with the calling thread: one for each processor, at most 8.
    package static let size = min(8, max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))))

    private let state: State
    private let count: Int
    private var threads: [pthread_t] = []

    /// Creates a pool of `count` threads. The thread that waits for a task runs tasks too. A thread without a task calls
    /// `beforeWaiting` before it waits for the next one.
    package init(
        threads count: Int = size - 1, beforeWaiting: @escaping @Sendable () -> Void = {}
    ) {
        self.count = count
        state = State(beforeWaiting: beforeWaiting)
    }

    deinit {
        state.locked {
            state.isStopped = true
            pthread_cond_broadcast(state.changed)
        }
        for thread in threads { pthread_join(thread, nil) }
    }

    /// Runs a task on a thread, or on the calling thread if no thread can be created. With `later`, tasks that were
    /// submitted without it run first.
    func submit(_ task: ThreadPoolTask, later: Bool = false) {
        if threads.isEmpty { begin() }
        guard !threads.isEmpty else { return task.run() }
        state.locked {
            task.isPending = true
            if later { state.laterTasks.append(task) } else { state.tasks.append(task) }
            pthread_cond_broadcast(state.changed)
        }
    }

    /// Whether a submitted task is done.
    func isDone(_ task: ThreadPoolTask) -> Bool { state.locked { !task.isPending } }

    /// Calls `body` with 0 to `count` − 1 on the threads and here, and returns when all calls have returned.
    package func forEach(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let tasks = (0..<count).map { IndexTask($0, body) }
        for task in tasks { submit(task) }
        for task in tasks { finish(task) }
    }

    /// Runs submitted tasks on the calling thread until `task` is done.
    func finish(_ task: ThreadPoolTask) {
        while true {
            var other: ThreadPoolTask?
            let isDone = state.locked {
                if task.isPending { other = state.next() }
                if other == nil {
                    while task.isPending { pthread_cond_wait(state.changed, state.mutex) }
                }
                return !task.isPending
            }
            if isDone { return }
            guard let other else { continue }
            other.run()
            state.locked { other.isPending = false }
        }
    }

    private func begin() {
        for _ in 0..<count {
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

extension ThreadPool {
    /// Does work on a list in slices of `slice` elements, in three steps. `begin` and `end` run on the calling thread in
    /// the order of the list. `make` runs on the threads, for some slices at once.
    ///
    /// A list of one slice starts no thread. When a step throws, the later slices are not begun and not ended.
    package func inOrder<Begun: Sendable, Made: Sendable>(
        _ count: Int, slice: Int, begin: (Range<Int>) throws -> Begun,
        make: @escaping @Sendable (Begun) -> Made, end: (Made) throws -> Void
    ) throws {
        guard count > slice else {
            if count > 0 { try end(make(try begin(0..<count))) }
            return
        }
        var tasks: [SliceTask<Begun, Made>] = []
        defer { for task in tasks { finish(task) } }
        func endFirst() throws {
            let task = tasks.removeFirst()
            finish(task)
            try end(task.take())
        }
        for start in stride(from: 0, to: count, by: slice) {
            let task = SliceTask(try begin(start..<min(count, start + slice)), make)
            submit(task)
            tasks.append(task)
            if tasks.count > 2 * self.count + 1 { try endFirst() }
        }
        while !tasks.isEmpty { try endFirst() }
    }
}

extension ThreadPool {
    /// Begins to map a list on the threads, in slices of `slice` elements. A list of one slice starts no thread. With
    /// `later`, the threads do other work first.
    package func started<Element: Sendable, Made: Sendable>(
        _ list: [Element], slice: Int, later: Bool = false,
        make: @escaping @Sendable (ArraySlice<Element>) -> [Made]
    ) -> StartedMap<Element, Made> {
        let tasks = stride(from: 0, to: list.count, by: slice).map { start in
            SliceTask(list[start..<min(list.count, start + slice)], make)
        }
        if tasks.count > 1 { for task in tasks { submit(task, later: later) } }
        return StartedMap(pool: self, tasks: tasks)
    }

    /// Begins a computation on the threads.
    package func started<Made: Sendable>(
        _ make: @escaping @Sendable () -> Made
    ) -> Started<Made> {
        let task = SliceTask((), { (_: Void) in make() })
        submit(task)
        return Started(pool: self, task: task)
    }

    /// A computation that runs on the threads of a pool.
    package struct Started<Made: Sendable> {
        fileprivate let pool: ThreadPool
        fileprivate let task: SliceTask<Void, Made>

        /// Waits for the result, and runs other tasks until then. Call it once.
        package func result() -> Made {
            pool.finish(task)
            return task.take()
        }
    }

    /// A map that runs on the threads of a pool.
    package struct StartedMap<Element: Sendable, Made: Sendable> {
        fileprivate let pool: ThreadPool
        fileprivate let tasks: [SliceTask<ArraySlice<Element>, [Made]>]

        /// Waits for the results, in the order of the list. Call it once.
        package func results() -> [Made] {
            if tasks.count == 1 { tasks[0].run() }
            return tasks.flatMap { task in
                pool.finish(task)
                return task.take()
            }
        }
    }
}

/// A slice of ``ThreadPool/inOrder(_:slice:begin:make:end:)``.
private final class SliceTask<Begun: Sendable, Made: Sendable>: ThreadPoolTask, @unchecked Sendable
{
    // Sendable: see ``ThreadPoolTask``.
    private var begun: Begun?
    private var made: Made?
    private let make: @Sendable (Begun) -> Made

    init(_ begun: Begun, _ make: @escaping @Sendable (Begun) -> Made) {
        self.begun = begun
        self.make = make
    }

    override func run() {
        guard let begun = begun.take() else { return }
        made = make(begun)
    }

    /// Returns the result. The task must be done.
    func take() -> Made {
        guard let made = made.take() else { preconditionFailure("the task was not run") }
        return made
    }
}
