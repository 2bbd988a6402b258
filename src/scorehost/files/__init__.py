"""Trees, digests, locks, leases, capped capture: what every room stands on."""
