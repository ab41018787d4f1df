public import ArgumentParser
public import Sotto

extension Suite: ExpressibleByArgument {}
