// Reads the page again every few seconds, until a button stops it, and says when there was no news for long.
(() => {
  const { now, wait, stale } = document.body.dataset, button = document.querySelector("#renewing");
  const timer = setTimeout(() => location.reload(), 1000 * wait);
  const old = (Date.now() - now) / 1000;
  if (old > stale) {
    document.querySelector("#old").hidden = false;
    document.querySelector("#minutes").textContent = Math.round(old / 60);
  }
  button.hidden = false;
  button.addEventListener("click", () => {
    clearTimeout(timer);
    button.textContent = button.dataset.again;
    button.addEventListener("click", () => location.reload());
  }, {once: true});
})();
