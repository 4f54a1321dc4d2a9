"""Where designers write, plan, rehearse, publish and watch surveys."""
