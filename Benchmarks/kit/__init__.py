"""The benchmark kit: servers, clients, workloads, measuring, ratios, table and plot."""
