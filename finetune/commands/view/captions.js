// The texts that scripts say, in the reader's language; the buttons at the top change it.
let language = (navigator.languages ?? [navigator.language]).map(one => one.slice(0, 2)).find(one => one in data.captions) ?? "en";
const told = [];  // what writes texts, which is done again in another language

function say(key, ...values) {
  return data.captions[language][key].replace(/\{(\d)\}/g, (_, index) => values[index]);
}

function tell(write) {
  told.push(write);
  write();
}

function speak(chosen) {
  language = document.documentElement.lang = chosen;
  document.querySelectorAll("[data-language]").forEach(button => button.setAttribute("aria-pressed", button.dataset.language === language));
  document.querySelectorAll("[data-say]").forEach(place => { place.textContent = say(place.dataset.say); });
  one("#parts").setAttribute("aria-label", say("parts"));
  told.forEach(write => write());
}
document.querySelectorAll("[data-language]").forEach(button => button.addEventListener("click", () => speak(button.dataset.language)));
speak(language);
