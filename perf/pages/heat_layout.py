"""Positions of a network's hosts and switches in its picture, in inches."""

import math
import re

GRID = re.compile(r"(torus|mesh):(\d+)x(\d+)(:hosts=\d+)?")
STEP = 0.78  # between neighbours of a grid
BETWEEN_HOSTS = 0.25  # along a row
BETWEEN_LEVELS = 0.85
BETWEEN_ON_RING = 0.3  # switches, along their circle
SPUR = 0.34  # from a switch to its hosts


class Network:
    """A network as `tutti topology --format json` writes it. Vertices are numbers, hosts first."""

    def __init__(self, record):
        names = record["hosts"] + record["switches"]
        numbers = {name: number for number, name in enumerate(names)}
        self.name = record["name"]
        self.hosts = len(record["hosts"])
        self.vertices = len(names)
        self.links = [(numbers[link["from"]], numbers[link["to"]]) for link in record["links"]]
        self.gbit_per_s = [link["gbit_per_s"] for link in record["links"]]
        self.neighbours = [[] for _ in names]
        for a, b in self.links:
            self.neighbours[a].append(b)
            self.neighbours[b].append(a)

    def is_host(self, vertex):
        """Whether it is a host; else it is a switch."""
        return vertex < self.hosts

    def levels(self):
        """The number of links from each vertex to the closest host."""
        level = [0] * self.hosts + [None] * (self.vertices - self.hosts)
        row = list(range(self.hosts))
        while row:
            following = []
            for vertex in row:
                for other in self.neighbours[vertex]:
                    if level[other] is None:
                        level[other] = level[vertex] + 1
                        following.append(other)
            row = following
        return level


def fan(center, angle, count):
    """Positions of `count` hosts around the direction of their switch."""
    spread = min(0.6, 2.4 / max(count, 1))
    turned = [angle - spread * (i - (count - 1) / 2) for i in range(count)]  # clockwise
    return [(center[0] + SPUR * math.cos(a), center[1] + SPUR * math.sin(a)) for a in turned]


def hang_hosts(network, places, angle_of):
    """Adds the hosts beside their switches."""
    of_switch = {}
    for host in range(network.hosts):
        of_switch.setdefault(network.neighbours[host][0], []).append(host)
    for switch, hosts in of_switch.items():
        places.update(zip(hosts, fan(places[switch], angle_of(switch), len(hosts))))
    return places


def on_grid(network, columns):
    """Switches in rows, for tori and meshes of two dimensions."""
    places = {switch: (STEP * ((switch - network.hosts) % columns),
                       -STEP * ((switch - network.hosts) // columns))
              for switch in range(network.hosts, network.vertices)}
    return hang_hosts(network, places, lambda _switch: -math.pi / 4)


def on_levels(network, level):
    """Hosts in a row, and switches above them, each over the middle of its children."""
    width = BETWEEN_HOSTS * network.hosts
    places = {host: (BETWEEN_HOSTS * (host + 0.5), 0) for host in range(network.hosts)}
    for height in range(1, max(level) + 1):
        switches = [vertex for vertex in range(network.vertices) if level[vertex] == height]

        def middle(switch, below=height - 1):
            under = [places[other][0] for other in network.neighbours[switch]
                     if level[other] == below]
            return sum(under) / len(under)
        switches.sort(key=lambda switch: (round(middle(switch), 6), switch))
        for place, switch in enumerate(switches):
            places[switch] = (width * (place + 0.5) / len(switches), BETWEEN_LEVELS * height)
    return places


def on_circle(network):
    """Switches on a circle with their hosts outside, or hosts around the only switch."""
    switches = range(network.hosts, network.vertices)
    if len(switches) <= 1:
        radius = max(1.0, BETWEEN_HOSTS * network.hosts / (2 * math.pi))
        ring = range(network.hosts)
        places = {switch: (0, 0) for switch in switches}
    else:
        radius = max(1.1, BETWEEN_ON_RING * len(switches) / (2 * math.pi))
        ring, places = switches, {}
    angles = {vertex: math.pi / 2 - 2 * math.pi * i / len(ring) for i, vertex in enumerate(ring)}
    places.update({vertex: (radius * math.cos(angle), radius * math.sin(angle))
                   for vertex, angle in angles.items()})
    return places if len(switches) <= 1 else hang_hosts(network, places, angles.get)


def places_of(network):
    """vertex -> (x, y), and whether it is a grid, whose links may wrap around."""
    grid = GRID.fullmatch(network.name)
    if grid and int(grid[2]) * int(grid[3]) == network.vertices - network.hosts:
        return on_grid(network, int(grid[3])), True
    level = network.levels()
    has_rows = max(level) > 1 and all(level[a] != level[b] for a, b in network.links)
    hangs = all(len(network.neighbours[host]) == 1 and not network.is_host(
        network.neighbours[host][0]) for host in range(network.hosts))
    if has_rows or (not hangs and network.vertices > network.hosts):
        return on_levels(network, level), False
    return on_circle(network), False
