"""Doubles of the servers that packages are published to: with state, strict, on 127.0.0.1 only, with faults on demand.

    with AnacondaServer(tokens={"t": "owner"}) as server:     # server.url; a port that the system chose
        server.faults.append(Cut(method="POST", path="/commit/"))
        ...                                                   # run a client
        server.trace(), server.state()
"""
