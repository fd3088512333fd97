import fluxloop  # noqa: E402

# FluxLoop 0.4 opens no trace of its own: without one, decorated functions are not recorded.
fluxloop.configure(use_collector=False, batch_size=1, offline_store_dir=str(Path(__file__).parent / "records"))

