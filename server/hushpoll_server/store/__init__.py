"""What the server keeps: tables, connections, published surveys and their sealed reports."""
