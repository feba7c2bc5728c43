"""Laws of noise, and exact or certified samplers for them."""
