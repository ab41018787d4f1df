public import Arguments
public import Sotto

extension Suite: ExpressibleByArgument {}
