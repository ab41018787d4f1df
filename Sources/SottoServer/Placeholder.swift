internal import NIOPosix
enum X { static func f() { _ = MultiThreadedEventLoopGroup.singleton } }
