"""Descriptions of all endpoints for the OpenAPI document, one module per group. Imported only on demand."""
