fill + per_branch
seen_before
composite
