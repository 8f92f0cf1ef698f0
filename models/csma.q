A[] not (Station(1).sending && Station(2).sending && Cable.active && Cable.y >= 2 * DELAY)
