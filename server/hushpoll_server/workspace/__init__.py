"""The designer's workspace: pages to write, plan, rehearse, publish and monitor surveys."""
