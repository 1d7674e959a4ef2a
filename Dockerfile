# An exported model as a service on a CPU, without torch: docs/how-to/container.md.
#   docker build -t finetune-serve .
#   docker run -p 8000:8000 -e FINETUNE_TOKEN -v ./small:/model:ro finetune-serve
FROM python:3.11-slim

# The dependencies of pyproject.toml without those of training, and its extras `onnx` and `serve`.
RUN pip install --no-cache-dir \
    "typer>=0.16" "pydantic>=2.10" "rich>=13.9" "pyarrow>=18" "fsspec>=2024.2" "filelock>=3.20.1" "tomli-w>=1.1" \
    "ftfy>=6.3" "regex>=2024.9" "pyyaml>=6.0" "scipy>=1.14" "numpy>=1.26" \
    "tokenizers>=0.22" "huggingface-hub>=1.0" \
    "onnxruntime>=1.20" "fastapi>=0.115" "uvicorn>=0.34" "prometheus-client>=0.21"

COPY . /source
RUN pip install --no-cache-dir --no-deps /source

RUN useradd --create-home --uid 10001 finetune
USER finetune
WORKDIR /home/finetune
ENV HF_HUB_OFFLINE=1 PYTHONUNBUFFERED=1

EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["finetune", "serve"]
CMD ["/model", "--host", "0.0.0.0", "--token-env", "FINETUNE_TOKEN"]
