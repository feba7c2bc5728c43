"""`coinpress`, for means and covariances, in its parts."""
