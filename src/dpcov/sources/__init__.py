"""Where rows live. A source does one thing: apply a statistic to blocks of rows and add up the results."""
