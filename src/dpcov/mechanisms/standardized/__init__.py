"""Mean and covariance of a table, measured in each column's own units."""
