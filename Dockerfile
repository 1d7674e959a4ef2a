# An exported model as a service on a CPU, without torch: docs/how-to/container.md.
#   docker build -t finetune-serve .
#   docker run -p 8000:8000 -e FINETUNE_TOKEN -v ./small:/model:ro finetune-serve
FROM python:3.11-slim

COPY . /source
RUN pip install --no-cache-dir --constraint /source/constraints.txt "/source[onnx,serve]"

RUN useradd --create-home --uid 10001 finetune
USER finetune
WORKDIR /home/finetune
ENV HF_HUB_OFFLINE=1 PYTHONUNBUFFERED=1

EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["finetune", "serve"]
CMD ["/model", "--host", "0.0.0.0", "--token-env", "FINETUNE_TOKEN"]
