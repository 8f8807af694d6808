"""The workload of the article the kit follows, on real photographs."""
